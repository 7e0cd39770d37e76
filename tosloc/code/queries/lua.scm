(comment) @comment
(string content: (string_content) @string)
(variable_declaration (assignment_statement (expression_list
  value: (function_call name: (identifier) @_require))) (#eq? @_require "require")) @import
[(function_declaration name: (identifier) @method)
  (function_declaration name: (dot_index_expression field: (identifier) @method))
  (function_declaration name: (method_index_expression method: (identifier) @method))]
(assignment_statement (variable_list . name: [(identifier) @method
    (dot_index_expression field: (identifier) @method)])
  (expression_list . value: (function_definition)))
(field name: (identifier) @method value: (function_definition))
(field name: (identifier) @field)

; definitions
(function_declaration) @function
(assignment_statement (variable_list . name: [(identifier) (dot_index_expression)])
  (expression_list . value: (function_definition))) @function
(field name: (identifier) value: (function_definition)) @function
