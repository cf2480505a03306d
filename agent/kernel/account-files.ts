import { type SessionUser } from '../docker/container-config.ts'
import { type ImageAccounts } from '../images/image-accounts.ts'

/** Name of the user as which the programs of a session run. */
const USER = 'work'
export const SHELL = '/opt/berth/bin/berth-shell'

/**
 * `/etc/passwd` of a session: root, the session's user, and the accounts of the image, whose names and owners of files its programs look
 * up. An account of the image is left out if it has the name or the uid of the session's user, or uid 0, so that programs that look up the
 * account of their uid get the session's. Passwords are left out. An account gives no right: a session has no capabilities and can gain
 * none.
 */
export function passwdFile({ uid, gid }: SessionUser, image: ImageAccounts): string {
  const own = ['root:x:0:0:root:/root:/bin/sh', `${USER}:x:${uid}:${gid}:${USER}:/home/work:${SHELL}`]
  const others = image.accounts.filter(
    account => !['root', USER].includes(account.name) && account.uid !== 0 && account.uid !== uid,
  )
  const nobody = others.some(({ name }) => name === 'nobody') ? [] : ['nobody:x:65534:65534:nobody:/:/bin/false']
  const lines = others.map(account =>
    [account.name, 'x', account.uid, account.gid, account.comment, account.home, account.shell].join(':'),
  )
  return [...own, ...lines, ...nobody, ''].join('\n')
}

/**
 * `/etc/group` of a session, by the same rules. The engine gives a session one group, so its user is a member of no other, whatever the image says.
 */
export function groupFile({ gid }: SessionUser, image: ImageAccounts): string {
  // sshd requires its terminals to have the group tty, and their gid is 5 (TERMINALS in docker/container-config.ts).
  const own = ['root:x:0:', 'tty:x:5:', `${USER}:x:${gid}:`]
  const others = image.groups.filter(
    group => !['root', 'tty', USER].includes(group.name) && group.gid !== 0 && group.gid !== gid,
  )
  const nogroup = others.some(group => group.name === 'nogroup') ? [] : ['nogroup:x:65534:']
  const lines = others.map(
    ({ name, gid: id, members }) => `${name}:x:${id}:${members.filter(member => member !== USER).join(',')}`,
  )
  return [...own, ...lines, ...nogroup, ''].join('\n')
}
