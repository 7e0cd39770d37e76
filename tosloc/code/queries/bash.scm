(comment) @comment
[(string_content) (raw_string) (heredoc_body)] @string
(command name: (command_name (word) @_source) (#any-of? @_source "source" ".")) @import
(function_definition name: (word) @method)
(program [(variable_assignment name: (variable_name) @field)
  (declaration_command (variable_assignment name: (variable_name) @field))])

; definitions
(function_definition) @function
