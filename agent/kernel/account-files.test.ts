import { expect, test } from 'vitest'
import { readAccountLines, readGroupLines } from '../images/account-lines.ts'
import { NO_ACCOUNTS } from '../images/image-accounts.ts'
import { groupFile, passwdFile } from './account-files.ts'

const USER = { uid: 995, gid: 994 }
const OWN = [
  'root:x:0:0:root:/root:/bin/sh',
  'work:x:995:994:work:/home/work:/opt/berth/bin/berth-shell',
  'nobody:x:65534:65534:nobody:/:/bin/false',
]
const OWN_GROUPS = ['root:x:0:', 'tty:x:5:', 'work:x:994:', 'nogroup:x:65534:']

const passwd = (text: string) =>
  passwdFile(USER, { accounts: readAccountLines(text).found, groups: [], sshConfig: '' })
    .trim()
    .split('\n')
const group = (text: string) =>
  groupFile(USER, { accounts: [], groups: readGroupLines(text).found, sshConfig: '' })
    .trim()
    .split('\n')

test('a session has its own accounts and those of the image, without their passwords', () => {
  expect(passwdFile(USER, NO_ACCOUNTS)).toBe([...OWN, ''].join('\n'))
  expect(groupFile(USER, NO_ACCOUNTS)).toBe([...OWN_GROUPS, ''].join('\n'))
  const web = 'www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin'
  expect(
    passwd('root:secret:0:0:Image:/:/bin/bash\nwww-data:$6$hash:33:33:www-data:/var/www:/usr/sbin/nologin\n'),
  ).toEqual([...OWN.slice(0, 2), web, ...OWN.slice(2)])
  expect(passwd('nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin').slice(2)).toEqual([
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
  ])
  expect(group('www-data:!:33:\nvideo:x:44:work,ada,www-data\n')).toEqual([
    ...OWN_GROUPS.slice(0, 3),
    'www-data:x:33:',
    'video:x:44:ada,www-data',
    'nogroup:x:65534:',
  ])
})

test('an account with the name or the uid of the session, or a second uid 0, gives way', () => {
  const clashes = 'work:x:1000:1000::/home/work:/bin/sh\nother:x:995:1:::\ntoor:x:0:0:::\nroot:x:7:7:::\n'
  expect(passwd(clashes)).toEqual(OWN)
  expect(group('work:x:1000:\nother:x:994:\nwheel:x:0:\ntty:x:7:\nroot:x:8:\n')).toEqual(OWN_GROUPS)
})
