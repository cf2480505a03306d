import { expect, test } from 'vitest'
import { licencesOf, packageOf } from './licences.ts'

test.each([
  ['/clone/node_modules/vue/dist/vue.js', 'node_modules/vue'],
  ['C:\\clone\\node_modules\\@vue\\shared\\index.js', 'node_modules/@vue/shared'],
  ['/clone/node_modules/a/node_modules/@b/c/d.js?commonjs', 'node_modules/a/node_modules/@b/c'],
  ['/clone/renderer/app/main.ts', undefined],
])('%s belongs to the package %s', (file, path) => {
  expect(packageOf(file)).toBe(path)
})

test('packages of page and servers are listed once each, with licence and text', () => {
  const { packages, texts } = licencesOf(['/x/node_modules/vue/a.js', '/x/node_modules/zod/b.js', '/x/renderer/c.ts'])
  const find = (wanted: string) => packages.filter(({ name }) => name === wanted)
  expect(find('vue')).toMatchObject([{ license: 'MIT', of: ['page'] }])
  expect(find('zod')).toMatchObject([{ license: 'MIT', of: ['page', 'servers'] }])
  expect(find('fastify')).toMatchObject([{ of: ['servers'] }])
  expect(find('vitest')).toEqual([])
  expect(texts[find('vue')[0]?.text ?? -1]).toContain('Yuxi (Evan) You')
  for (const { license, of } of packages) {
    expect(license).not.toBe('')
    expect(of.length).toBeGreaterThan(0)
  }
})
