(comment) @comment
[(string_content) (multiline_string)] @string
(variable_declaration (builtin_function (builtin_identifier) @_import) (#eq? @_import "@import"))
@import
(test_declaration) @test
(function_declaration name: (identifier) @method)
(variable_declaration . (identifier) @type
  [(struct_declaration) (enum_declaration) (union_declaration)])
(container_field name: (identifier) @field)

; definitions
(function_declaration) @function
(variable_declaration [(struct_declaration) (enum_declaration) (union_declaration)]) @class
