import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test.skipIf(process.platform === 'win32')('the limit of descriptors is that of this process', () => {
  const read = `import(${JSON.stringify(fileURLToPath(new URL('descriptors.ts', import.meta.url)))}).then(m => console.log(m.descriptorLimit()))`
  const { stdout } = spawnSync('sh', ['-c', `ulimit -n 300 && exec "$0" -e '${read}'`, process.execPath])
  expect(stdout.toString().trim()).toBe('300')
})
