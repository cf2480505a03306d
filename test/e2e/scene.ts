import { type Page } from 'playwright-core'
import { type World } from './console-double-world.ts'
import { type ConsoleDouble } from './console-double.ts'

/** A state of the console to be checked (`look-at.ts`). */
export interface Scene {
  readonly name: string
  readonly world?: Partial<World>
  readonly path: string
  /** True: other scenes show the same components, so this one is only for pictures. */
  readonly alike?: boolean
  /** Brings the page into the state to be checked. */
  readonly act?: (page: Page, double: ConsoleDouble) => Promise<void>
}

export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
