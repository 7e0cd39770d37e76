(comment) @comment
(quoted_content) @string
(call target: (identifier) @_import (#any-of? @_import "alias" "import" "require" "use")) @import
(call target: (identifier) @_def (arguments . [(identifier) @method (call target: (identifier) @method)
    (binary_operator left: (identifier) @method)
    (binary_operator left: (call target: (identifier) @method))])
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defdelegate"))
(call target: (identifier) @_module (arguments . (alias) @type)
  (#any-of? @_module "defmodule" "defprotocol" "defimpl"))
(call target: (identifier) @_struct (arguments (list [(atom) @field (keywords (pair key: (keyword) @field))]))
  (#eq? @_struct "defstruct"))

; definitions
(call target: (identifier) @_def
  (#any-of? @_def "def" "defp" "defmacro" "defmacrop" "defguard" "defdelegate")) @function
(call target: (identifier) @_module (arguments . (alias))
  (#any-of? @_module "defmodule" "defprotocol" "defimpl")) @class
