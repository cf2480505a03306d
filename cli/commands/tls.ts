import { type Command } from 'commander'
import { inPairs } from '#base/hex-pairs'
import { type ConsoleCertificate } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput } from '../output.ts'
import { adminOf } from './admin.ts'

/** `berth admin tls`, for superadmins. */
export function addTlsCommand(program: Command): void {
  adminOf(program)
    .command('tls')
    .description('TLS certificates of the consoles: fingerprints, end and problems.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { api } = await connect()
      const { items } = await api.listCertificates()
      const output = createOutput(json)
      if (items.length === 0)
        output.note('No console presents a certificate. TLS may end in a reverse proxy; see docs/admin/tls.md.')
      output.data({ items }, () => items.map(textOf).join('\n\n'))
    })
}

const STATES = {
  good: '',
  ending: ' (ends soon: replace it)',
  ended: ' (ended: replace it)',
  failed: ' (not renewed)',
} as const

function textOf(one: ConsoleCertificate): string {
  return [
    one.console,
    `  names        ${one.names.join(', ')}`,
    `  issuer       ${one.issuer}${one.isPublic ? '' : ' (no public authority)'}`,
    `  until        ${one.notAfter.slice(0, 10)}${STATES[one.state]}`,
    `  SHA-256      ${one.fingerprint}`,
    `  of its key   ${inPairs(one.keyFingerprint)}`,
    ...(one.problem === null ? [] : [`  problem      ${one.problem}`]),
  ].join('\n')
}
