[(line_comment) (block_comment)] @comment
(content) @string
[(using_statement) (import_statement)] @import
[(function_definition (signature (_ [(identifier) @method (field_expression (identifier) @method .)])))
  (macro_definition (signature (call_expression . (identifier) @method)))
  (assignment . (call_expression . [(identifier) @method (field_expression (identifier) @method .)]))]
(struct_definition (type_head [(identifier) @type (_ . (identifier) @type)]))
(struct_definition (typed_expression . (identifier) @field))
(const_statement (assignment . (identifier) @field))

; definitions
[(function_definition) (macro_definition)] @function
(assignment . (call_expression)) @function
[(struct_definition) (abstract_definition)] @class
