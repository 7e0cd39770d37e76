[(comment) (block_comment)] @comment
[(string) (character_literal) (interpolated_string)] @string
(import_declaration) @import
(package_clause !body) @package
[(function_definition name: (_) @method) (function_declaration name: (_) @method)]
[(class_definition name: (_) @type) (object_definition name: (_) @type) (trait_definition name: (_) @type)
  (enum_definition name: (_) @type) (type_definition name: (_) @type)]
(class_parameter name: (_) @field)
(template_body [(val_definition pattern: (identifier) @field) (var_definition pattern: (identifier) @field)
    (val_declaration name: (identifier) @field) (var_declaration name: (identifier) @field)])
[(simple_enum_case name: (_) @field) (full_enum_case name: (_) @field)]

; definitions
[(function_definition) (function_declaration)] @function
(val_definition pattern: (identifier) value: (lambda_expression)) @function
[(class_definition) (object_definition) (trait_definition) (enum_definition)] @class
