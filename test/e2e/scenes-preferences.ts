import { aFolder } from './console-double-folders.ts'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { aTemplate } from './console-double-launch.ts'
import { button, type Scene } from './scene.ts'

const CHANGED_AT = '2026-11-01T09:00:00.000Z'
const DOTFILES = [
  { path: '.bashrc', content: 'alias ll="ls -l"\n', mode: '644', changedAt: CHANGED_AT },
  { path: '.config/git/a-directory-with-a-long-name/config', content: '[user]\n', mode: '600', changedAt: CHANGED_AT },
]
const LOGINS = [
  THIS_LOGIN,
  OTHER_LOGIN,
  ...Array.from({ length: 9 }, (_, index) => ({
    ...OTHER_LOGIN,
    id: OTHER_LOGIN.id.replace('a002', `b0${String(index).padStart(2, '0')}`),
    label: index === 0 ? null : `Firefox, Windows`,
    accessKey: null,
  })),
]

/** The own sign-ins, the sign-in with an access key, and the preferences. */
export const PREFERENCE_SCENES: readonly Scene[] = [
  {
    name: 'sign-ins',
    path: '/account',
    world: { logins: LOGINS, keypairs: [aKeypair(0)] },
    async act(page) {
      await page.getByText('This one').waitFor()
      await page.getByText('Show 3 more').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'sign-in-key',
    path: '/sign-in?with=key',
    world: { signedIn: false, failures: new Map([['POST /api/v1/auth/keypair', { code: 'access_key_invalid' }]]) },
    async act(page) {
      await page.getByLabel('Access key').fill('AKIAABCDEFGHIJKLMNO0')
      await page.getByRole('textbox', { name: 'Secret key' }).fill('a wrong one')
      await button(page, 'Sign in').click()
      await page.getByText('Wrong access key or secret key').waitFor()
    },
  },
  {
    name: 'preferences',
    path: '/preferences',
    world: {
      templates: [{ ...aTemplate('usual'), isDefault: true }],
      imageDefaults: [
        {
          image: 'berth/pytorch:2.9-cuda13',
          resources: { cpu: '4', mem: '17179869184', 'cuda.device': '1' },
          shmem: '2147483648',
          environ: { WANDB_MODE: 'offline' },
          changedAt: CHANGED_AT,
        },
      ],
      dotfiles: DOTFILES,
      bootstrapScript: { script: 'pip install --user rich\n', changedAt: CHANGED_AT },
      folders: [aFolder(1, { name: '.config' })],
    },
    async act(page) {
      await page.getByText('keep it in the folder instead').waitFor()
      await page.getByText('.bashrc', { exact: true }).last().scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'dotfile',
    path: '/preferences',
    world: { dotfiles: DOTFILES },
    async act(page) {
      await button(page, 'New dotfile').click()
      await page.getByRole('dialog').getByRole('textbox', { name: 'Content' }).waitFor()
      await page.getByLabel('Permissions').fill('9')
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await page.getByText('Enter three digits').waitFor()
    },
  },
]
