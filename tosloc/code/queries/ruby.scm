(comment) @comment
[(string_content) (heredoc_content) (character)] @string
(call !receiver method: (identifier) @_require (#any-of? @_require "require" "require_relative")) @import
[(method name: (_) @method) (singleton_method name: (_) @method)]
[(class name: [(constant) @type (scope_resolution name: (constant) @type)])
  (module name: [(constant) @type (scope_resolution name: (constant) @type)])]
(call !receiver method: (identifier) @_attribute arguments: (argument_list (simple_symbol) @field)
  (#any-of? @_attribute "attr_accessor" "attr_reader" "attr_writer"))
[(assignment left: [(constant) (instance_variable) (class_variable)] @field)
  (operator_assignment left: (instance_variable) @field)]

; definitions
[(method) (singleton_method)] @function
(assignment left: [(identifier) (constant)] right: (lambda)) @function
[(class) (module)] @class
