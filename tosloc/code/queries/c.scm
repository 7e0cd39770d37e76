(comment) @comment
(field_declaration declarator: (field_identifier) @field)
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @field))
(field_declaration declarator: (array_declarator declarator: (field_identifier) @field))
(enumerator name: (identifier) @field)
[(preproc_def name: (identifier) @field) (preproc_function_def name: (identifier) @method)]
[(string_literal) (char_literal)] @string
(preproc_include) @import
(function_declarator declarator: (identifier) @method)
[(struct_specifier name: (type_identifier) @type body: (_))
  (union_specifier name: (type_identifier) @type body: (_))
  (enum_specifier name: (type_identifier) @type body: (_))
  (type_definition declarator: (type_identifier) @type)]

; definitions
(function_definition) @function
[(struct_specifier name: (_) body: (_)) (union_specifier name: (_) body: (_))
  (enum_specifier name: (_) body: (_))] @class
(preproc_function_def) @function
