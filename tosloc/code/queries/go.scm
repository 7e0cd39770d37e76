(comment) @comment
[(interpreted_string_literal) (raw_string_literal) (rune_literal)] @string
(import_declaration) @import
(package_clause) @package
[(function_declaration name: (identifier) @method) (method_declaration name: (field_identifier) @method)
  (method_elem name: (field_identifier) @method)]
[(type_spec name: (type_identifier) @type) (type_alias name: (type_identifier) @type)]
(field_declaration name: (field_identifier) @field)
(source_file [(var_declaration (var_spec name: (identifier) @field))
    (const_declaration (const_spec name: (identifier) @field))])

; definitions
[(function_declaration) (method_declaration)] @function
(var_spec value: (expression_list (func_literal))) @function
(short_var_declaration left: (expression_list . (identifier) .) right: (expression_list (func_literal)))
@function
(type_spec type: [(struct_type) (interface_type)]) @class
[(type_declaration) (var_declaration)] @around
