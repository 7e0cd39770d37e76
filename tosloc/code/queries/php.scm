(comment) @comment
[(string_content) (nowdoc_string)] @string
(namespace_use_declaration) @import
[(method_declaration name: (name) @method) (function_definition name: (name) @method)]
[(class_declaration name: (name) @type) (interface_declaration name: (name) @type)
  (trait_declaration name: (name) @type) (enum_declaration name: (name) @type)]
(property_element name: (variable_name (name) @field))
(property_promotion_parameter name: (variable_name (name) @field))
(const_declaration (const_element . (name) @field))
(enum_case name: (name) @field)

; definitions
[(function_definition) (method_declaration)] @function
(assignment_expression left: (variable_name) right: [(anonymous_function) (arrow_function)]) @function
[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)] @class
