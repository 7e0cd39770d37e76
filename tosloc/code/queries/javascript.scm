(comment) @comment
[(string) (regex)] @string
(template_string (string_fragment) @string)
(import_statement) @import
(variable_declarator name: (identifier) @method value: [(arrow_function) (function_expression)])
(pair key: (property_identifier) @method value: [(arrow_function) (function_expression)])
(assignment_expression left: [(identifier) @method (member_expression property: (property_identifier) @method)]
  right: [(arrow_function) (function_expression)])
(method_definition name: (_) @method)
[(function_declaration name: (identifier) @method) (generator_function_declaration name: (identifier) @method)]
(class_declaration name: (identifier) @type)
(field_definition property: (_) @field)

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
(field_definition value: [(arrow_function) (function_expression)]) @function
