/** A Git repository or a notebook that a session fetches when it starts. */
export interface CodeSource {
  readonly kind: 'repository' | 'notebook'
  /** Address for programs that fetch the source; https. */
  readonly url: string
  /** Branch or tag of a repository; undefined for its default branch. */
  readonly branch: string | undefined
  /** Name of the directory or file in the session. */
  readonly name: string
}

/** The parts of an address, which both Node and browsers have; this folder is compiled without the types of either. */
interface Address {
  readonly protocol: string
  readonly username: string
  readonly password: string
  readonly href: string
  hostname: string
  pathname: string
  search: string
  hash: string
}
declare const URL: { new (url: string | Address): Address; canParse(url: string): boolean }

const LONGEST = 2000
/** Page of a file or directory. Its address does not show where the branch name ends, which may contain slashes. */
const PART_OF_REPOSITORY = /^\/[^/]+\/.+\/(?:-\/)?(?:tree|blob)\//

/**
 * Reads the address of a repository or notebook as a browser shows it. Addresses with a password are refused: they would be
 * stored with the session.
 *
 * @returns undefined for other texts
 */
export function readCodeSource(text: string): CodeSource | undefined {
  const address = text.trim()
  if (address.length > LONGEST || !URL.canParse(address)) return undefined
  const url = new URL(address)
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  url.hash = ''
  return url.pathname.endsWith('.ipynb') ? notebookAt(url) : repositoryAt(url)
}

function notebookAt(url: Address): CodeSource | undefined {
  const name = nameOf(url.pathname.split('/').at(-1) ?? '')
  // Pages of GitHub and GitLab show a notebook; the file itself has an address of its own.
  const page = /^\/([^/]+\/[^/]+)\/blob\/(.+)$/.exec(url.pathname)
  const raw = new URL(url)
  if (url.hostname === 'github.com' && page) {
    raw.hostname = 'raw.githubusercontent.com'
    raw.pathname = `/${page[1]}/${page[2]}`
  } else raw.pathname = url.pathname.replace('/-/blob/', '/-/raw/')
  return name === undefined ? undefined : { kind: 'notebook', url: raw.href, branch: undefined, name }
}

function repositoryAt(url: Address): CodeSource | undefined {
  const repository = new URL(url)
  repository.search = ''
  let branch: string | undefined
  const page = /^(.+?)\/(?:-\/)?tree\/([^/]+)\/?$/.exec(url.pathname)
  if (page) {
    branch = nameOf(page[2] ?? '')
    repository.pathname = page[1] ?? ''
    if (branch === undefined) return undefined
  } else if (PART_OF_REPOSITORY.test(url.pathname)) return undefined
  const path = repository.pathname.replace(/\/+$/, '')
  const name = nameOf((path.split('/').at(-1) ?? '').replace(/\.git$/, ''))
  repository.pathname = path
  return name === undefined ? undefined : { kind: 'repository', url: repository.href, branch, name }
}

/** Decodes a part of a path. @returns undefined if it is not a valid file name */
function nameOf(part: string): string | undefined {
  try {
    const name = decodeURIComponent(part)
    return /^[^/\p{C}]{1,200}$/u.test(name) && name !== '.' && name !== '..' ? name : undefined
  } catch {
    return undefined
  }
}

/** A word of a shell's command line. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * A line for the shell of the session. It does not touch existing files, so that a restarted session keeps its user's changes. The session
 * fetches the source, never a server of Berth, so that nobody can reach the servers' network this way.
 *
 * @param directory in the session, absolute
 */
export function fetchCommand({ kind, url, branch, name }: CodeSource, directory: string): string {
  const target = quoted(`${directory}/${name}`)
  if (kind === 'repository') {
    const only = branch === undefined ? '' : ` --branch ${quoted(branch)}`
    return `[ -e ${target} ] || GIT_TERMINAL_PROMPT=0 git clone --depth 1${only} -- ${quoted(url)} ${target}`
  }
  const part = quoted(`${directory}/${name}.part`)
  return `[ -e ${target} ] || { curl -fsSL --proto '=https' -o ${part} --url ${quoted(url)} && mv -f ${part} ${target}; }`
}

/** The startup command, which may be empty, after a line that fetches the source. */
export const fetchFirst = (command: string, source: CodeSource, directory: string): string =>
  [fetchCommand(source, directory), command.trim()].filter(Boolean).join('\n')
