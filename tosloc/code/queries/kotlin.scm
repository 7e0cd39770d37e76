[(line_comment) (block_comment)] @comment
[(string_content) (character_literal)] @string
(import) @import
(package_header) @package
(function_declaration name: (identifier) @method)
[(class_declaration name: (identifier) @type) (object_declaration name: (identifier) @type)
  (companion_object name: (identifier) @type) (type_alias type: (identifier) @type)]
(class_parameter ["val" "var"] . (identifier) @field)
(class_body (property_declaration (variable_declaration (identifier) @field)))
(source_file (property_declaration (variable_declaration (identifier) @field)))
(enum_entry (identifier) @field)

; definitions
[(function_declaration) (secondary_constructor)] @function
(property_declaration (variable_declaration) [(lambda_literal) (anonymous_function)]) @function
(property_declaration (variable_declaration) [(getter) (setter)]) @function
(anonymous_initializer) @function
[(class_declaration) (object_declaration) (companion_object)] @class
