import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const MAKE_IMAGE = new URL('../../build/bootstrap/make-image.ts', import.meta.url).pathname
/** Options like those of a session: no root, no capabilities. */
const AS_SESSION = ['--user=1234:1234', '--cap-drop=ALL', '--security-opt=no-new-privileges', '-e', 'HOME=/tmp']

/** Runs a cell in a kernel of Jupyter, and prints the type and the start of each output. */
const RUN_CELL = `
import sys
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name=sys.argv[1], startup_timeout=120)
def show(message):
    content = message['content']
    print(message['msg_type'], content.get('text') or content.get('evalue') or sorted(content.get('data', {})))
client.execute_interactive(sys.argv[2], output_hook=show, timeout=120)
manager.shutdown_kernel(now=True)
`
const NOTEBOOK = {
  cells: [{ cell_type: 'code', id: 'a', execution_count: null, metadata: {}, outputs: [], source: ['print(6 * 7)'] }],
  metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-images-'))
  // Makes it readable for the user of the container.
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'run-cell.py'), RUN_CELL)
  await writeFile(join(folder, 'one.ipynb'), JSON.stringify(NOTEBOOK))
})
afterAll(() => rm(folder, { recursive: true }))

/** Builds the image as `berth admin image build` does. @returns its tag */
async function build(name: string, ...flags: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [MAKE_IMAGE, name, '--no-install', ...flags], { maxBuffer: 2 ** 26 })
  return stdout.trim()
}

async function inContainer(image: string, ...command: string[]): Promise<string> {
  const mount = ['-v', `${folder}:/test:ro`]
  const { stdout } = await run('docker', ['run', '--rm', '--network=none', ...AS_SESSION, ...mount, image, ...command])
  return stdout
}

test('Python runs a notebook without a browser', async () => {
  const command = ['jupyter', 'nbconvert', '--to', 'markdown', '--execute', '--stdout', '/test/one.ipynb']
  expect(await inContainer(await build('python'), ...command)).toContain('42')
})

test.each([
  ['r', 'ir', 'library(ggplot2); cat(mean(c(1, 2, 6))); print(ggplot(mtcars, aes(wt, mpg)) + geom_point())'],
  ['octave', 'octave', 'disp(mean([1, 2, 6])); plot([1, 2, 3])'],
])('%s computes and draws in its kernel', async (name, kernel, cell) => {
  const shown = await inContainer(await build(name), 'python3', '/test/run-cell.py', kernel, cell)
  expect(shown).toMatch(/^stream 3/m)
  expect(shown).toMatch(/^display_data \[.*'image\/png'/m)
  expect(shown).not.toMatch(/^error/m)
})

test('VS Code answers on its port', async () => {
  const image = await build('vscode')
  const serve = 'code-server --bind-addr 127.0.0.1:8443 --auth none --disable-telemetry'
  const ask = 'curl -sS --retry 60 --retry-connrefused --retry-delay 1 "http://127.0.0.1:8443/?folder=/tmp"'
  expect(await inContainer(image, 'sh', '-c', `${serve} >/dev/null 2>&1 & ${ask}`)).toContain('vscode-workbench-web')
})

test('CUDA needs nothing but its base image: libraries and programs of the base are found in the Python image', async () => {
  // Instead of NVIDIA's image, which is large and not available everywhere: one with a library and a program at NVIDIA's paths.
  await using stack = new AsyncDisposableStack()
  const base = 'berth-test/cuda-base:1'
  await writeFile(
    join(folder, 'Dockerfile'),
    `FROM debian:trixie-slim
RUN mkdir -p /usr/local/cuda/lib64 /usr/local/cuda/bin \\
 && cp "$(find /usr/lib -name 'libz.so.1' | head -n 1)" /usr/local/cuda/lib64/libcudart.so.12 \\
 && cp "$(find /usr/lib -name 'libz.so.1' | head -n 1)" /usr/lib/libcudnn.so.9 \\
 && printf '#!/bin/sh\\necho release 12.8\\n' > /usr/local/cuda/bin/nvcc && chmod 755 /usr/local/cuda/bin/nvcc
`,
  )
  await run('docker', ['build', '--network=none', '-t', base, folder])
  const image = await build('cuda', '--base', base)
  // Otherwise agents would offer it as the real one.
  stack.defer(() => run('docker', ['image', 'rm', image, base]).then(() => undefined))
  const load =
    "import ctypes; [ctypes.CDLL(f'/usr/local/{f}') for f in ('cuda/lib64/libcudart.so.12', 'cuda-libraries/libcudnn.so.9')]; print('loaded')"
  expect(await inContainer(image, 'python3', '-c', load)).toContain('loaded')
  expect(await inContainer(image, 'nvcc')).toContain('release 12.8')
  expect(await inContainer(image, 'sh', '-c', 'ldconfig -p')).toContain('/usr/local/cuda/lib64/')
})
