import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { FolderId } from '#manager/contract'
import { createStorageHosts } from '../../../manager/storage/storage-hosts.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

const run = promisify(execFile)
/** A user of the host who is neither the manager nor the user of sessions. */
const OTHER = 4321
/** By a shell: `setpriv` keeps rights of root until it has run a program. */
const asOther = (command: string) =>
  run('setpriv', [`--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups', 'sh', '-c', command])

test.runIf(process.getuid?.() === 0)(
  'no other user of the host reaches files of sessions on a storage, also on one of an earlier version',
  async () => {
    await using directory = await temporaryDirectory()
    await using opened = await openTestStore()
    await chmod(directory.path, 0o755)
    const open = () => createStorageHosts({ db: opened.store.db, paths: new Map([['local', directory.path]]) })
    const storage = open()
    await storage.list()
    const id = newId(FolderId)
    await storage.create('local', id)
    const folder = join(directory.path, 'folders', id)
    // A session owns its folder, and makes a set-user-id program in it that everybody may run.
    const program = join(folder, 'program')
    await copyFile('/usr/bin/id', program)
    await chmod(program, 0o6755)
    await chmod(folder, 0o755)
    const isClosed = async () => {
      for (const command of [`stat ${program}`, program]) {
        await expect(asOther(command)).rejects.toThrow('Permission denied')
      }
    }
    await isClosed()

    // As it was before: everybody could pass through the directory of folders.
    await mkdir(join(directory.path, 'removed'), { recursive: true })
    for (const name of ['folders', 'removed']) await chmod(join(directory.path, name), 0o711)
    expect((await asOther(program)).stdout).toContain('euid=0')
    // The manager starts again.
    await open().list()
    await isClosed()
    expect((await stat(join(directory.path, 'removed'))).mode & 0o777).toBe(0o700)
    await using top = await storage.open('local', id)
    expect((await top.lstat('program')).kind).toBe('file')
  },
)
