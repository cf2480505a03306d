import { parseArgs } from 'node:util'
import { isSessionId } from '#manager/contract/light'
import { usePins } from '#proxy/connect-app'
import { findAccess } from './config/access.ts'
import { readCertificates } from './config/certificates.ts'
import { endWith } from './outcome.ts'
import { applyStdioFlags, carryStdio, type StdioFlags, type StdioTarget } from './ssh/stdio.ts'

/**
 * `berth stdio` as a Host block runs it: for a session named by its id. OpenSSH starts it for every connection, so it loads
 * neither commander nor the schemas of the API (ADR 0026). Any other form of the command is left to `main.ts`.
 */
export async function main(argv: readonly string[]): Promise<never> {
  const request = parse(argv)
  if (request === undefined) return await (await import('./main.ts')).main(argv)
  const work = async () => {
    applyStdioFlags(request)
    usePins(readCertificates)
    await carryStdio(await findAccess(), request)
  }
  return await endWith(work, { json: false })
}

function parse([, ...args]: readonly string[]): (StdioFlags & StdioTarget) | undefined {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { 'config-dir': { type: 'string' }, endpoint: { type: 'string' }, keypair: { type: 'boolean' } },
    })
    const [sessionId, app, ...more] = positionals
    if (!isSessionId(sessionId) || more.length > 0) return undefined
    return { configDir: values['config-dir'], endpoint: values.endpoint, keypair: values.keypair, sessionId, app }
  } catch {
    // Another form of the command, or a mistake: main.ts explains it.
    return undefined
  }
}

if (import.meta.main) await main(process.argv.slice(2))
