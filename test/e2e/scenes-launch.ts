import { aWorld, LIMITED, oneGpuNow } from './console-world.ts'
import { button, type Scene } from './scene.ts'

/** The launch dialog. */
export const LAUNCH_SCENES: readonly Scene[] = [
  {
    name: 'launch',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByRole('heading', { name: 'Environment', exact: true }).waitFor()
    },
  },
  {
    name: 'launch-limits',
    path: '/sessions',
    world: { ...LIMITED, whatIf: oneGpuNow },
    async act(page) {
      await button(page, 'New session').click()
      await button(page, /^Medium/).click()
      await page.getByRole('textbox', { name: 'GPU', exact: true }).fill('2')
      await button(page, 'Use 1 GPU').waitFor()
      await page.getByText('2 sessions left').waitFor()
      await page.getByRole('heading', { name: 'Resources', exact: true }).scrollIntoViewIfNeeded()
      await page.locator('.launch-form').evaluate(form => form.scrollBy(0, 330))
    },
  },
  {
    name: 'launch-errors',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('PyTorch 2.9 (CUDA 13)').click()
      await page.getByLabel('Name optional').fill('my session')
      await page.getByRole('textbox', { name: 'GPU', exact: true }).fill('3')
      await button(page, /^Environment variables/).click()
      await button(page, 'Add variable').click()
      await page.getByLabel('Name of variable 1').fill('LD_PRELOAD')
      await page.getByText('Is set by Berth itself').waitFor()
    },
  },
  {
    name: 'launch-batch',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('Runs one command').click()
      await page.getByLabel('Startup command').fill('python3 train.py --epochs 40')
      await page.getByLabel(/Maximum lifetime/).fill('8h')
      await button(page, /^Environment variables/).click()
      await page.getByRole('combobox', { name: 'After these sessions' }).press('ArrowDown')
      await page.getByRole('option', { name: 'data-clean_up.v2' }).click()
      await page.keyboard.press('Escape')
      await page.getByText('ends 8 h after it started').waitFor()
      await page.locator('.launch-form').evaluate(form => form.scrollTo(0, form.scrollHeight))
    },
  },
  {
    name: 'launch-no-agent',
    path: '/sessions',
    world: {
      images: [],
      resources: { ...aWorld().resources, agents: { connected: 0, lost: 1 }, capacity: {}, occupied: {} },
    },
    async act(page) {
      await button(page, 'New session').click()
      await page.getByText('No environment can be launched').waitFor()
    },
  },
]
