(comment) @comment
[(string) (regex)] @string
(template_string (string_fragment) @string)
(import_statement) @import
(variable_declarator name: (identifier) @method value: [(arrow_function) (function_expression)])
(pair key: (property_identifier) @method value: [(arrow_function) (function_expression)])
(assignment_expression left: [(identifier) @method (member_expression property: (property_identifier) @method)]
  right: [(arrow_function) (function_expression)])
[(method_definition name: (_) @method) (method_signature name: (_) @method)
  (abstract_method_signature name: (_) @method)]
[(function_declaration name: (identifier) @method) (generator_function_declaration name: (identifier) @method)
  (function_signature name: (identifier) @method)]
(public_field_definition name: (_) @method value: [(arrow_function) (function_expression)])
[(class_declaration name: (type_identifier) @type) (abstract_class_declaration name: (type_identifier) @type)
  (interface_declaration name: (type_identifier) @type) (type_alias_declaration name: (type_identifier) @type)
  (enum_declaration name: (identifier) @type)]
(public_field_definition name: (_) @field)
(interface_body (property_signature name: (_) @field))
(type_alias_declaration value: (object_type (property_signature name: (_) @field)))
[(enum_body name: (_) @field) (enum_assignment name: (_) @field)]

; definitions
[(function_declaration) (generator_function_declaration) (method_definition)] @function
[(class_declaration) (class name: (_))] @class
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) value: (class)) @class
[(variable_declarator name: (identifier) value: (object)) (assignment_expression right: (object))] @scope
[(export_statement) (lexical_declaration) (variable_declaration)] @around
(decorator) @above
[(abstract_class_declaration) (interface_declaration) (enum_declaration)] @class
(public_field_definition value: [(arrow_function) (function_expression)]) @function
