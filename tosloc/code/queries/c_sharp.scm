(comment) @comment
[(string_literal) (verbatim_string_literal) (raw_string_literal) (character_literal)] @string
(interpolated_string_expression (string_content) @string)
(using_directive) @import
[(method_declaration name: (identifier) @method) (constructor_declaration name: (identifier) @method)
  (destructor_declaration name: (identifier) @method) (local_function_statement name: (identifier) @method)]
[(class_declaration name: (identifier) @type) (interface_declaration name: (identifier) @type)
  (struct_declaration name: (identifier) @type) (enum_declaration name: (identifier) @type)
  (record_declaration name: (identifier) @type) (delegate_declaration name: (identifier) @type)]
(field_declaration (variable_declaration (variable_declarator name: (identifier) @field)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @field)))
(property_declaration name: (identifier) @field)
(enum_member_declaration name: (identifier) @field)

; definitions
[(method_declaration) (constructor_declaration) (destructor_declaration) (operator_declaration)
  (conversion_operator_declaration) (indexer_declaration) (local_function_statement)
  (property_declaration)] @function
[(class_declaration) (interface_declaration) (struct_declaration) (enum_declaration)
  (record_declaration)] @class
