import { readFile } from 'node:fs/promises'
import { type KernelApp } from '#agent/contract'

/** Form of the secrets made by `randomBytes(24).toString('hex')`. */
const SECRET = /^[0-9a-f]{48}$/
const PLACE = '{secret}'

/**
 * The secret with which an app was started, read from the environment or the arguments of its process. Used by an agent whose own record is
 * lost (`berth agent --replace`) while the app is still running.
 *
 * Threat model: the processes belong to the session, which can put anything there. Only text in the form of a secret is accepted, and it is
 * sent only to apps of this session.
 *
 * @param pids processes of the container, as numbered on this host
 */
export async function runningSecret(
  app: Pick<KernelApp, 'command' | 'environ' | 'port'>,
  pids: readonly number[],
): Promise<string | undefined> {
  const fill = (text: string) => text.replaceAll('{port}', String(app.port)).replaceAll('{baseUrl}', '/')
  const args = app.command.slice(1).map(fill)
  const variables = Object.entries(app.environ).map(([name, value]) => `${name}=${fill(value)}`)
  const hasSecret = (text: string) => text.includes(PLACE)
  for (const pid of pids) {
    const words = await read(pid, 'cmdline')
    // Child processes of the app inherit its environment, but not its arguments.
    if (!args.every(text => hasSecret(text) || words.includes(text))) continue
    const found =
      secretIn(words, args.filter(hasSecret)) ?? secretIn(await read(pid, 'environ'), variables.filter(hasSecret))
    if (found !== undefined) return found
  }
  return undefined
}

function secretIn(texts: readonly string[], templates: readonly string[]): string | undefined {
  for (const template of templates) {
    const [before = '', after = ''] = template.split(PLACE)
    for (const text of texts) {
      const secret = text.slice(before.length, text.length - after.length)
      if (text.startsWith(before) && text.endsWith(after) && SECRET.test(secret)) return secret
    }
  }
  return undefined
}

async function read(pid: number, name: 'cmdline' | 'environ'): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '') // the process has ended
  return text.split('\0')
}
