import { expect, test } from 'vitest'
import { type Account, type HostAccounts, parseAccounts, parseSubordinateRanges } from './host-accounts.ts'
import { chooseSessionUser } from './session-user.ts'

const ROOT = { uid: 0, gid: 0 }
const THOUSAND = { uid: 1000, gid: 1000 }

/** A host by the text of its files; `useradd` gives the highest free system uid. */
function aHost(passwd: string, { subuid = '', useradd = true } = {}): HostAccounts & { readonly created: Account[] } {
  const created: Account[] = []
  const all = () => [...parseAccounts(passwd), ...created]
  return {
    created,
    find: key => Promise.resolve(all().find(({ name, uid }) => (typeof key === 'number' ? uid : name) === key)),
    createSystemAccount(name) {
      if (useradd) created.push({ name, uid: 998, gid: 997, shell: '/usr/sbin/nologin' })
      return Promise.resolve(useradd)
    },
    subordinateRanges: () => Promise.resolve(parseSubordinateRanges(subuid)),
  }
}
const ALICE = 'root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000:Alice:/home/alice:/bin/bash\n'

test('under root an account is created once, and homes of user 1000 are remembered', async () => {
  const accounts = aHost(ALICE)
  const first = await chooseSessionUser({ accounts, recorded: undefined, owner: THOUSAND })
  expect(first).toEqual({ uid: 998, gid: 997, earlier: [1000] })
  const again = await chooseSessionUser({ accounts, recorded: undefined, owner: ROOT })
  expect(again).toEqual({ uid: 998, gid: 997, earlier: [] })
  expect(accounts.created).toHaveLength(1)
})

test('user 1000 is never chosen, not even on a host where nobody has it yet', async () => {
  expect(await chooseSessionUser({ accounts: aHost(''), recorded: undefined, owner: THOUSAND })).toMatchObject({
    uid: 998,
  })
})

test('the owner of a shared storage stays the session user if nobody can log in as it', async () => {
  const accounts = aHost('storage:x:5000:5001::/:/usr/sbin/nologin\nbob:x:6000:6000::/home/bob:\n')
  const choose = (uid: number) =>
    chooseSessionUser({ accounts, recorded: undefined, owner: { uid, gid: uid } }).then(user => user.uid)
  expect(await choose(5000)).toBe(5000)
  expect(await choose(7000)).toBe(7000)
  // An empty shell is /bin/sh.
  expect(await choose(6000)).toBe(998)
})

test('a uid that became somebody’s login, or part of a user namespace, is given up and remembered', async () => {
  const recorded = { uid: 61_000, gid: 61_000, earlier: [1000] }
  const keep = await chooseSessionUser({ accounts: aHost(ALICE), recorded, owner: ROOT })
  expect(keep).toEqual(recorded)
  const taken = aHost('carol:x:61000:61000::/home/carol:/bin/zsh\n')
  expect(await chooseSessionUser({ accounts: taken, recorded, owner: ROOT })).toEqual({
    uid: 998,
    gid: 997,
    earlier: [1000, 61_000],
  })
  const mapped = aHost(ALICE, { subuid: 'dave:60000:5000\n' })
  expect(await chooseSessionUser({ accounts: mapped, recorded, owner: ROOT })).toMatchObject({ uid: 998 })
})

test('without useradd a uid is taken that belongs to no account and no user namespace', async () => {
  const accounts = aHost('x:x:61183:61183::/:/bin/false\n', { useradd: false, subuid: 'dave:61180:3\n' })
  expect(await chooseSessionUser({ accounts, recorded: undefined, owner: ROOT })).toEqual({
    uid: 61_179,
    gid: 61_179,
    earlier: [],
  })
})

test('an account of that name that can log in stops the start with the way out', async () => {
  const accounts = aHost('berth-session:x:1200:1200::/home/b:/bin/bash\n')
  await expect(chooseSessionUser({ accounts, recorded: undefined, owner: ROOT })).rejects.toMatchObject({
    code: 'config_invalid',
    detail: { why: expect.stringContaining('usermod') as string },
  })
})
