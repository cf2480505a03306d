import { DIRECT, type Way } from './way.ts'

/**
 * Reads the answer of a PAC file, which Chromium also gives for fixed settings: `PROXY proxy:3128; SOCKS5 other:1080; DIRECT`.
 *
 * @param answer entries in their order, separated by `;`
 * @returns at least one way; an empty answer means a direct connection
 */
export function parsePacAnswer(answer: string): readonly Way[] {
  const entries = answer.split(';').flatMap(entry => entry.trim() || [])
  return entries.length === 0 ? DIRECT : entries.map(wayOf)
}

function wayOf(entry: string): Way {
  const [kind = '', place = ''] = entry.split(/\s+/)
  if (kind.toUpperCase() === 'DIRECT') return { kind: 'direct' }
  const scheme = { PROXY: 'http', HTTP: 'http', HTTPS: 'https', SOCKS5: 'socks5' }[kind.toUpperCase()]
  const url = scheme === undefined ? null : URL.parse(`${scheme}://${place}`)
  return url === null || url.hostname === ''
    ? { kind: 'unknown', named: entry }
    : { kind: 'proxy', url: `${url.protocol}//${url.host}` }
}
