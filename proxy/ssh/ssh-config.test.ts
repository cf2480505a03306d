import { expect, test } from 'vitest'
import { parseInherited } from './inherited.ts'
import { quoteForShell, quoteForSshConfig, quoteForTerminal } from './quoting.ts'
import { blockOf, formatConfig, parseBlocks, withInclude, withoutSendEnv } from './ssh-config.ts'

const INCLUDE = 'Include ~/.ssh/berth/config'
const entry = {
  alias: 'berth-train',
  otherAliases: ['berth-train.berth.example.org'],
  sessionId: '0190-a',
  port: 30_001,
  user: 'work',
  identityFile: '/home/A B/.ssh/berth/id_container-berth-train',
  knownHostsFile: '/home/A B/.ssh/berth/known_hosts',
  hostKey: 'ssh-ed25519 AAAA',
  owner: { host: 'here', pid: 7, run: 'r1' },
}

test('the Include line is added above everything else, once', () => {
  const mine = 'Host *\n  ForwardAgent no\n'
  const once = withInclude(mine, INCLUDE)
  expect(once).toBe(`${INCLUDE}\n${mine}`)
  expect(withInclude(once, INCLUDE)).toBe(once)
  expect(withInclude('', INCLUDE)).toBe(`${INCLUDE}\n`)
})

test('an Include that the user moved below other global lines is left alone, one inside a Host block does not count', () => {
  const moved = `# mine\nCompression yes\n${INCLUDE}\nHost a\n`
  expect(withInclude(moved, INCLUDE)).toBe(moved)
  const inside = `Host a\n${INCLUDE}\n`
  expect(withInclude(inside, INCLUDE)).toBe(`${INCLUDE}\n${inside}`)
})

test('line ends of Windows are kept', () => {
  expect(withInclude('Host a\r\n', INCLUDE)).toBe(`${INCLUDE}\r\nHost a\r\n`)
})

test('blocks can be written and read back, and foreign lines are dropped', () => {
  const [a, b] = [blockOf(entry), blockOf({ ...entry, alias: 'berth-b', sessionId: '0190-b' })]
  const text = formatConfig([a, b])
  expect(parseBlocks(text)).toEqual([a, b])
  expect(parseBlocks(`Host evil\n  ProxyCommand rm\n${text}`)).toEqual([a, b])
  expect(a.names).toEqual(['berth-train', 'berth-train.berth.example.org'])
})

test('paths with spaces and percent signs are one argument of ssh_config; unwritable ones are refused', () => {
  expect(quoteForSshConfig('/home/A B/100%')).toBe('"/home/A B/100%%"')
  expect(quoteForSshConfig('C:\\Users\\A B\\.ssh')).toBe('"C:/Users/A B/.ssh"')
  expect(() => quoteForSshConfig('/a"b')).toThrow(TypeError)
  expect(() => quoteForSshConfig('/a\nProxyCommand x')).toThrow(TypeError)
})

test('a word for the shell is quoted if necessary', () => {
  expect(quoteForShell('/home/a/.ssh')).toBe('/home/a/.ssh')
  expect(quoteForShell("it's $HOME")).toBe(`'it'\\''s $HOME'`)
})

test('a word to copy on Windows has the quotes of its shells', () => {
  expect(quoteForTerminal('C:\\Users\\ada\\id.ppk', 'win32')).toBe('C:\\Users\\ada\\id.ppk')
  expect(quoteForTerminal('C:\\Users\\A B\\id.ppk', 'win32')).toBe('"C:\\Users\\A B\\id.ppk"')
})

test('the block that takes variables back stays the last one, once', () => {
  const block = '# berth: programs in sessions get no variables of this computer\nHost berth-*\n  SendEnv -*\n'
  const once = withoutSendEnv('Host *\n  SendEnv FOO')
  expect(once).toBe(`Host *\n  SendEnv FOO\n\n${block}`)
  expect(withoutSendEnv(once)).toBe(once)
  expect(withoutSendEnv(`${once}Host b\n`)).toBe(`Host *\n  SendEnv FOO\n\nHost b\n\n${block}`)
})

test('forwards and variables are found in what ssh says of a host; those of the language do not count', () => {
  const said = 'host berth-a\nforwardagent no\nsendenv LANG\nsendenv LC_ALL\nlocalforward 80 [a]:80\n'
  expect(parseInherited(said)).toEqual({ forwards: ['LocalForward 80 [a]:80'], sendsEnvironment: false })
  expect(parseInherited('sendenv AWS_*\r\n')).toEqual({ forwards: [], sendsEnvironment: true })
})
