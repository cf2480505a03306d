import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A provider of DNS may take minutes until all its servers have a record. */
const HOOK_MS = 5 * 60_000

/**
 * Runs the administrator's program: `HOOK add|remove NAME VALUE`, for a TXT record such as `_acme-challenge.example.org`. The program
 * returns once the record is visible from outside, or is gone.
 *
 * Threat model: name and value come from the authority and from our key; they are passed as arguments, never through a shell. The program
 * runs as the user of the server, without the server's own secrets in its environment.
 *
 * @throws Error with the end of what it printed
 */
export async function runDnsHook(
  program: string,
  action: 'add' | 'remove',
  name: string,
  value: string,
): Promise<void> {
  const { PATH, HOME, LANG } = process.env
  try {
    await promisify(execFile)(program, [action, name, value], { timeout: HOOK_MS, env: { PATH, HOME, LANG } })
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const said = stderr.trim().slice(-300) || (error instanceof Error ? error.message.split('\n')[0] : String(error))
    throw new Error(`${program} ${action} ${name} failed: ${said}`, { cause: error })
  }
}
