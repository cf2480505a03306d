import { expect, test } from 'vitest'
import { aliasesAt, aliasFor, labelOfServer } from './aliases.ts'

const session = { id: '0190a1b2-3c45c4', name: 'My*Session?! x', isOthers: false }

test('an alias has no characters that ssh or a shell would interpret', () => {
  expect(aliasFor(session)).toBe('berth-my-session---x')
  expect(aliasFor({ ...session, isOthers: true })).toBe('berth-my-session---x-3c45c4')
})

test('no name of a session makes the alias of a session of another server, or that of the folders', () => {
  const atDefault = aliasesAt(aliasFor({ ...session, name: 'train.other.example.org' }), {
    label: 'berth.example.org',
    isDefault: true,
  })
  expect(atDefault).toEqual(['berth-train-other-example-org', 'berth-train-other-example-org.berth.example.org'])
  expect(aliasFor({ ...session, name: 'folders' })).toBe('berth-folders-3c45c4')
})

test('sessions of a server that is not the default have no short alias', () => {
  expect(aliasesAt('berth-train', { label: 'berth.example.org', isDefault: false })).toEqual([
    'berth-train.berth.example.org',
  ])
})

test.each([
  ['https://Berth.example.org/', 'berth.example.org'],
  ['https://berth.example.org:8443', 'berth.example.org.8443'],
  ['http://berth.example.org', 'berth.example.org.80'],
  ['http://127.0.0.1:8400', 'localhost.8400'],
  ['http://[::1]:8400', 'localhost.8400'],
  ['https://10.0.0.5:8400', '10.0.0.5.8400'],
  ['https://[2001:db8::7]', '2001-db8--7'],
])('%s is %s in aliases', (address, label) => {
  expect(labelOfServer(address)).toBe(label)
})

test('a host cannot look like another one with a port', () => {
  expect(() => labelOfServer('https://berth.example.org.8443')).toThrow('Invalid URL')
})

test('a very long name of a server is shortened to one that no other server has', () => {
  const long = 'x'.repeat(61)
  const labels = ['a', 'b'].map(end => labelOfServer(`https://${long}.${long}.example.${end}org`))
  expect(new Set(labels).size).toBe(2)
  for (const label of labels) {
    expect(label).toMatch(/^[a-z0-9.-]{1,100}$/)
    // A name that ends in a number is no name of a host, and port 0 none of a server.
    expect(label).toMatch(/\.0$/)
    expect(() => labelOfServer(`https://${label}`)).toThrow('Invalid URL')
  }
})
