import { expect, test } from 'vitest'
import { readServicePorts } from '#agent/contract'
import { imageChanges } from '../../agent/images/image-changes.ts'
import { startFailure } from '../../agent/kernel/start-failure.ts'
import { parseNetDev } from '../../agent/stats/cgroup.ts'
import { printable } from '../../cli/output.ts'
import { createRedactor } from '../../manager/diagnostics/redact-secrets.ts'
import { parseChallenges, parseNextLink } from '../../manager/registries/client/headers.ts'
import { parsePublicKey } from '../../manager/users/ssh-public-key.ts'
import { microseconds } from '../../test/fixtures/processor-time.ts'

const LENGTH = 100_000
/** Microseconds. The slowest takes up to 0.5 s on two busy cores. Patterns that read the text again from each character take five seconds and more. */
const MOST_US = 1_500_000

const redactor = createRedactor({ known: [], addresses: true })
const notStarted = (message: string) =>
  startFailure(Object.assign(new Error(message), { statusCode: 400, json: { message } }))

/** Texts from outside that no schema bounds, each repeated. */
test.each<[string, (text: string) => unknown, string]>([
  ['a challenge of a registry', text => parseChallenges(`${text}!`), 'A'],
  ['a challenge of a registry', text => parseChallenges(`${text}!`), 'A0'],
  ['links of a registry', parseNextLink, '<'],
  ['links of a registry', parseNextLink, '<>;'],
  ['ports in a label of an image', readServicePorts, 'A'],
  ['ports in a label of an image', readServicePorts, 'a:'],
  ['a label of an image', text => imageChanges({ Labels: { a: `${text}!` } }), ' '],
  ['an error of the engine', notStarted, '/x'],
  ['network figures', parseNetDev, '\n'],
  ['a log for a diagnosis', redactor.text, 'a://'],
  ['a log for a diagnosis', redactor.text, 'secret'],
  ['a log for a diagnosis', redactor.text, 'a@'],
  ['text for a terminal', printable, '\r'],
  ['a public key', text => parsed(`ssh-rsa AAAA${text}\u2028!`), ' '],
])('%s is read in one go', (_what, read, piece) => {
  expect(microseconds(() => read(piece.repeat(LENGTH / piece.length)))).toBeLessThan(MOST_US)
})

function parsed(text: string): unknown {
  try {
    return parsePublicKey(text)
  } catch (error) {
    return error
  }
}
