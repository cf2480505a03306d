import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nativeImage } from '../../../test/fixtures/electron-stub.ts'
import { windowAppearance } from './window-appearance.ts'

const css = readFileSync(new URL('../../../renderer/app/style.css', import.meta.url), 'utf8')

test('a new window has the ground of the page in the theme of the app, its icon and a smallest size, and waits for its first frame', () => {
  const icon = nativeImage.createFromDataURL('data:image/png;base64,')
  const [light, dark] = [false, true].map(shouldUseDarkColors =>
    windowAppearance({ nativeTheme: { shouldUseDarkColors, themeSource: 'system' } }, icon),
  )
  const [ofLight, ofDark] = css.match(/background: #[0-9a-f]{6}/g) ?? []
  expect(`background: ${light?.backgroundColor}`).toBe(ofLight)
  expect(`background: ${dark?.backgroundColor}`).toBe(ofDark)
  for (const options of [light, dark])
    expect(options).toMatchObject({ icon, minWidth: 480, minHeight: 480, show: false })
})
