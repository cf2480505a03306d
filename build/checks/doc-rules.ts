/** Codes that docs/errors.md explains: the first cell of a table row, or a heading, in backticks. */
export function documentedCodes(markdown: string): string[] {
  return [...markdown.matchAll(/^(?:\|\s*|#+\s+)`([a-z][a-z0-9_]*)`/gm)].map(match => match[1] ?? '')
}

/** Reasons that docs/errors.md explains: the first cells of the table below its heading `# Reasons`, several codes in one cell. */
export function documentedReasons(markdown: string): string[] {
  const [, table = ''] = markdown.split(/^# Reasons$/m)
  return [...table.matchAll(/^\|\s*([a-z][a-z0-9_, ]*?)\s*\|/gm)]
    .flatMap(([, cell = '']) => cell.split(/,\s*/))
    .filter(code => code !== 'reason')
}

/** Targets of relative links and pictures, without their anchors; code blocks do not count. */
export function relativeLinks(markdown: string): string[] {
  const prose = markdown.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1\s*$/gm, '').replaceAll(/`[^`\n]*`/g, '')
  const inline = [...prose.matchAll(/\]\(\s*<?([^)>\s]+)>?[^)]*\)/g)]
  const references = [...prose.matchAll(/^\s*\[[^\]]+\]:\s*(\S+)/gm)]
  return [...inline, ...references]
    .map(match => match[1] ?? '')
    .filter(target => !/^([a-z][a-z0-9+.-]*:|#|\/)/i.test(target))
    .map(target => decodeURI(target.replace(/#.*$/, '')))
}

/** Files and folders that inline code names: paths with a slash, and names of source files. Patterns and examples are left out. */
export function namedPaths(markdown: string): string[] {
  const prose = markdown.replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1\s*$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)]
    .map(match => match[1] ?? '')
    .filter(text => /^[\w.@-]+(\/[\w.@-]+)*\/?$/.test(text) && !/NNNN/.test(text))
    .filter(text => text.includes('/') || /^[a-zA-Z][\w.-]*\.(ts|mts|vue|cjs|mjs)$/.test(text))
}

/** Differences between the two lists, as sentences. */
export function differences(defined: readonly string[], documented: readonly string[]): string[] {
  const missing = defined
    .filter(code => !documented.includes(code))
    .map(code => `docs/errors.md does not explain ${code}`)
  const stale = documented
    .filter(code => !defined.includes(code))
    .map(code => `docs/errors.md explains ${code}, which manager/contract does not have`)
  const twice = documented
    .filter((code, index) => documented.indexOf(code) !== index)
    .map(code => `docs/errors.md explains ${code} twice`)
  return [...missing, ...stale, ...twice]
}
