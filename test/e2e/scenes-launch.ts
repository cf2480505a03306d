import { aWorld, LIMITED, oneGpuNow, SHARED_GPUS } from './console-world.ts'
import { aTemplate } from './console-double-launch.ts'
import { chooseToOpen, openLaunchDialog, openSection } from './console-steps.ts'
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
    alike: true,
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
    name: 'launch-gpu-share',
    alike: true,
    path: '/sessions',
    world: { resources: SHARED_GPUS },
    async act(page) {
      await openLaunchDialog(page)
      const share = page.locator('#amount-cuda\\.shares-GPU')
      await share.fill('0.25')
      await page.getByText('19.9 GiB').waitFor()
      await share.scrollIntoViewIfNeeded()
      await page.locator('.launch-form').evaluate(form => form.scrollBy(0, 200))
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
      await page.getByLabel('Number of sessions').fill('51')
      await page.getByText('A whole number from 1 to 50').first().waitFor()
    },
  },
  {
    name: 'launch-variables',
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await openSection(page, 'Environment variables')
      await button(page, 'Edit variables').click()
      await page.getByLabel('Name of variable 1').fill('LD_PRELOAD')
      await page.getByText('Is set by Berth itself').waitFor()
      await page.getByText('1 unfinished row is left out.').waitFor()
    },
  },
  {
    name: 'launch-network',
    alike: true,
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await openSection(page, 'Network')
      await page.getByRole('combobox', { name: 'What the session may reach' }).press('ArrowDown')
      await page.getByRole('option', { name: 'Only these names' }).click()
      await page.getByLabel('Host names').fill('pypi.org\nfiles.pythonhosted.org\n10.0.0.1')
      await page.getByText('is not a host name such as').first().waitFor()
      await page.locator('#launch-section-network').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'launch-batch',
    alike: true,
    path: '/sessions',
    async act(page) {
      await button(page, 'New session').click()
      await openSection(page, 'How long it runs')
      await page.getByText('The session runs one command').click()
      await page.getByLabel('Startup command').fill('python3 train.py --epochs 40')
      await page.getByLabel(/Maximum lifetime/).fill('8h')
      await openSection(page, 'When it starts')
      await page.getByRole('combobox', { name: 'After these sessions' }).press('ArrowDown')
      await page.getByRole('option', { name: 'data-clean_up.v2' }).click()
      await page.keyboard.press('Escape')
      await page.getByText('ends 8 h after it started').waitFor()
      await page.locator('.launch-form').evaluate(form => form.scrollTo(0, form.scrollHeight))
    },
  },
  {
    name: 'launch-sections',
    path: '/sessions',
    world: { ...LIMITED, role: 'superadmin' },
    async act(page) {
      await button(page, 'New session').click()
      await openSection(page, 'Environment')
      await openSection(page, 'When it starts')
      await page.getByLabel(/^Start at/).fill('2020-01-01T10:00')
      await page.getByText('This time has passed').first().waitFor()
    },
  },
  {
    name: 'launch-templates',
    path: '/sessions',
    world: {
      templates: [aTemplate('training'), aTemplate('a rather long name of a template for evaluations at night')],
    },
    async act(page) {
      await button(page, 'New session').click()
      await button(page, 'Templates and recent').click()
      await button(page, /^training/).waitFor()
    },
  },
  {
    name: 'launch-import',
    path: '/sessions',
    async act(page) {
      await openLaunchDialog(page)
      await button(page, 'Templates and recent').click()
      await button(page, 'Import a repository or notebook').click()
      await page.getByLabel('Address', { exact: true }).fill('http://git.example.org/notes')
      await page.getByText('Enter the https address').waitFor()
    },
  },
  {
    name: 'launch-image-unknown',
    alike: true,
    path: '/sessions',
    async act(page) {
      await openLaunchDialog(page)
      const name = 'registry.example.org:5000/laboratory/a-long-name-of-an-image:2026.11-cuda13'
      await page.getByRole('textbox', { name: 'Search, or type the name of an image' }).fill(name)
      await page.getByText('No image “').waitFor()
    },
  },
  {
    name: 'launch-opens',
    alike: true,
    path: '/sessions',
    async act(page) {
      await openLaunchDialog(page)
      await chooseToOpen(page, 'JupyterLab')
      await page.locator('.launch-form').evaluate(form => form.scrollTo(0, form.scrollHeight))
    },
  },
  {
    name: 'launch-no-agent',
    alike: true,
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
