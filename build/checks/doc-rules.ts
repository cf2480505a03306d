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

/** Status and repeatability of a code in the table of errors. */
interface CodeFacts {
  readonly status: number
  readonly retry: boolean
}

/**
 * Rows of docs/errors.md that differ from the sources, as sentences. A row is `code | HTTP | again | meaning | what to do`; the last cell
 * begins with the sentence that the page shows and goes on with what only the command line and administrators need.
 *
 * @param codes status and repeatability by code
 * @param steps next steps of the page, in English, by code; not every code has one
 */
export function errorDifferences(
  markdown: string,
  codes: Readonly<Record<string, CodeFacts>>,
  steps: Readonly<Record<string, string>>,
): string[] {
  const bare = (text: string) => text.replaceAll(/[`"]/g, '')
  return markdown.split('\n').flatMap(line => {
    const [name = '', status, again, , ...rest] = line.replaceAll(/^\|\s*|\s*\|\s*$/g, '').split(' | ')
    const code = /^`([a-z0-9_]+)`$/.exec(name)?.[1] ?? ''
    const facts = codes[code]
    if (!facts) return []
    const repeatable = facts.retry ? 'yes' : 'no'
    const step = steps[code] ?? ''
    return [
      ...(status === String(facts.status) ? [] : [`docs/errors.md says ${status} for ${code}, not ${facts.status}`]),
      ...(again === repeatable ? [] : [`docs/errors.md says ${again} for ${code}, not ${repeatable}`]),
      ...(bare(rest.join(' | ')).startsWith(bare(step))
        ? []
        : [`docs/errors.md begins what to do about ${code} in other words than the page: ${step}`]),
    ]
  })
}
