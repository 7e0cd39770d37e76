(comment) @comment
[(template_literal) (heredoc_identifier)] @string
(block . (identifier) . (string_lit (template_literal) @type))
(block (string_lit (template_literal) @method) . (block_start))
(attribute . (identifier) @field)

; definitions
(config_file (body (block) @function))
