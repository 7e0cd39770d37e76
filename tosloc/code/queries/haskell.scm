[(comment) (haddock)] @comment
(literal (string) @string)
(import) @import
(header) @package
[(function name: (variable) @method) (bind name: (variable) @method)
  (signature name: (variable) @method)]
[(data_type name: (name) @type) (newtype name: (name) @type) (class name: (name) @type)]
(field_name (variable) @field)

; definitions
(declarations [(function) (bind)] @function)
(instance_declarations [(function) (bind)] @function)
[(data_type) (newtype) (class)] @class
(instance) @scope
