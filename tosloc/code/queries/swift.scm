[(comment) (multiline_comment)] @comment
[(line_str_text) (multi_line_str_text) (str_escaped_char) (raw_str_part) (raw_str_end_part)] @string
(import_declaration) @import
[(function_declaration name: (simple_identifier) @method)
  (protocol_function_declaration name: (simple_identifier) @method)]
[(class_declaration name: (type_identifier) @type) (protocol_declaration name: (type_identifier) @type)
  (typealias_declaration name: (type_identifier) @type)]
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @field)))
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @field))
(enum_entry name: (simple_identifier) @field)

; definitions
[(function_declaration) (init_declaration) (deinit_declaration) (subscript_declaration)
  (protocol_function_declaration)] @function
(property_declaration value: (lambda_literal)) @function
[(class_declaration) (protocol_declaration)] @class
