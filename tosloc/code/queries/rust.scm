[(line_comment) (block_comment)] @comment
[(string_literal) (raw_string_literal) (char_literal)] @string
((attribute_item) @_attribute . (mod_item) @test
  (#match? @_attribute "^#\\[cfg\\((all\\()?test[,)]"))
((attribute_item) @_attribute . (function_item) @test (#match? @_attribute "^#\\[([a-z_]+::)?test\\b"))
[(use_declaration) (extern_crate_declaration)] @import
[(function_item name: (identifier) @method) (function_signature_item name: (identifier) @method)
  (macro_definition name: (identifier) @method)]
[(struct_item name: (type_identifier) @type) (enum_item name: (type_identifier) @type)
  (union_item name: (type_identifier) @type) (trait_item name: (type_identifier) @type)
  (type_item name: (type_identifier) @type)]
[(field_declaration name: (field_identifier) @field) (enum_variant name: (identifier) @field)
  (const_item name: (identifier) @field) (static_item name: (identifier) @field)]

; definitions
[(function_item) (macro_definition)] @function
(let_declaration pattern: (identifier) value: (closure_expression)) @function
[(struct_item) (enum_item) (union_item) (trait_item)] @class
(impl_item) @scope
(attribute_item) @above
