[(line_comment) (block_comment)] @comment
[(string_literal) (character_literal)] @string
(import_declaration) @import
(package_declaration) @package
(method_declaration name: (identifier) @method)
(constructor_declaration name: (identifier) @method)
(compact_constructor_declaration name: (identifier) @method)
(annotation_type_element_declaration name: (identifier) @method)
(class_declaration name: (identifier) @type)
(interface_declaration name: (identifier) @type)
(enum_declaration name: (identifier) @type)
(record_declaration name: (identifier) @type)
(annotation_type_declaration name: (identifier) @type)
(field_declaration declarator: (variable_declarator name: (identifier) @field))
(constant_declaration declarator: (variable_declarator name: (identifier) @field))
(enum_constant name: (identifier) @field)
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @field)))

; definitions
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)
  (annotation_type_element_declaration)] @function
(variable_declarator value: (lambda_expression)) @function
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)
  (annotation_type_declaration)] @class

; what the published techniques read besides
(program [(class_declaration name: (identifier) @outer)
    (interface_declaration name: (identifier) @outer)
    (enum_declaration name: (identifier) @outer)
    (record_declaration name: (identifier) @outer)
    (annotation_type_declaration name: (identifier) @outer)])
[(variable_declarator name: (identifier) @variable)
  (formal_parameter name: (identifier) @variable)
  (catch_formal_parameter name: (identifier) @variable)
  (enhanced_for_statement name: (identifier) @variable)
  (resource name: (identifier) @variable)]
