(comment) @comment
(expression_statement (string) @comment)
(string_content) @string
[(import_statement) (import_from_statement) (future_import_statement)] @import
(function_definition name: (identifier) @method)
(class_definition name: (identifier) @type)
(class_definition body: (block (expression_statement (assignment left: (identifier) @field))))
(module (expression_statement (assignment left: (identifier) @field)))
(assignment left: (attribute object: (identifier) @_self attribute: (identifier) @field) (#eq? @_self "self"))

; definitions
(function_definition) @function
(class_definition) @class
(assignment left: (identifier) right: (lambda)) @function
(decorated_definition) @around
