import { chmod, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addMasterKey } from '../../../manager/secrets/open-secret-box.ts'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'

test('the first start creates a key that only its owner can read, and the database stores its fingerprint', async () => {
  await using data = await temporaryDirectory()
  const file = join(data.path, 'master.key')
  const start = async () => {
    await using manager = await startTestManager({ dataDir: data.path })
    return manager.url
  }
  await start()
  const made = await readFile(file, 'utf8')
  expect(Buffer.from(made, 'base64')).toHaveLength(32)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await start()
  expect(await readFile(file, 'utf8')).toBe(made)

  await rename(file, `${file}.kept`)
  await expect(start()).rejects.toMatchObject({ code: 'master_key_mismatch' })
  await expect(stat(file)).rejects.toThrow('ENOENT')
  await writeFile(file, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 })
  await expect(start()).rejects.toMatchObject({ code: 'master_key_mismatch' })
  await writeFile(file, 'not a key', { mode: 0o600 })
  await expect(start()).rejects.toMatchObject({ code: 'config_invalid' })

  await rm(file)
  await rename(`${file}.kept`, file)
  await chmod(file, 0o644)
  await expect(start()).rejects.toMatchObject({ code: 'config_invalid' })
  await chmod(file, 0o600)
  await addMasterKey(data.path)
  await start()
  // Rotated: the new key alone is enough from now on.
  const [added = ''] = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, added)
  await start()
}, 120_000)
