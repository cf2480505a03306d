import { because, type FolderShares, keysOf } from '#manager/contract'
import { aFolder, LOCAL, variedFolders } from './console-double-folders.ts'
import { ago, aSession, INVITATION, LIMITED, OTHER } from './console-world.ts'
import { openSection } from './console-steps.ts'
import { button, type Scene } from './scene.ts'

const AWAY = because('storage_at_unmounted', { storage: 'archive', path: '/mnt/archive', file: '.berth-storage' })
const ARCHIVE = { name: 'archive', problem: AWAY.why, ...keysOf(AWAY), space: null }
const NEARLY_FULL = { usedBytes: 9_675_000_000_000, freeBytes: 321_000_000_000 }
const [experiments] = variedFolders()
const USING = aSession(7, {
  name: 'train-resnet-50',
  folders: experiments
    ? [{ folderId: experiments.id, name: experiments.name, path: '/home/work/experiments', readOnly: false }]
    : [],
})

const SHARES: FolderShares = {
  members: [
    {
      userId: OTHER.ownerId,
      email: OTHER.ownerEmail,
      name: 'Jonas Lindqvist',
      permission: 'rw',
      joinedAt: ago(4_000),
      sessions: 1,
    },
  ],
  invitations: [
    {
      id: INVITATION.id,
      email: 'a.person.with.a.long.name@an-institute.example.org',
      permission: 'ro',
      createdAt: ago(60),
      expiresAt: ago(-9_000),
      ended: false,
    },
  ],
}

/** Page "Data & Storage". */
export const FOLDER_SCENES: readonly Scene[] = [
  {
    name: 'folders',
    path: '/data',
    world: {
      folders: variedFolders(),
      storageHosts: [LOCAL, { ...ARCHIVE, problem: null, space: NEARLY_FULL }],
      folderCount: {
        count: 17,
        limit: 20,
        usedBytes: 208_000_000_000,
        limitBytes: 268_435_456_000,
        usedFiles: 412_000,
        limitFiles: 2_000_000,
      },
      sessions: [USING],
    },
    act: page => page.getByText('In use: train-resnet-50').waitFor(),
  },
  {
    name: 'folders-storage-away',
    path: '/data?sort=-storage',
    world: { folders: variedFolders(), storageHosts: [LOCAL, ARCHIVE], role: 'superadmin' },
    act: page => page.getByText('Storage “archive” cannot be used now').waitFor(),
  },
  {
    name: 'folders-empty',
    alike: true,
    path: '/data',
    act: page => page.getByText('You have no folder yet').waitFor(),
  },
  {
    name: 'folders-no-storage',
    alike: true,
    path: '/data',
    world: { storageHosts: [] },
    act: page => page.getByText('You cannot create folders').waitFor(),
  },
  {
    name: 'folders-loading',
    alike: true,
    path: '/data',
    world: { hold: ['GET /api/v1/folders'] },
    act: page => page.getByLabel('Loading folders').waitFor(),
  },
  {
    name: 'folders-failed',
    alike: true,
    path: '/data',
    world: { failures: new Map([['GET /api/v1/folders', { code: 'unavailable' }]]) },
    act: page => page.getByText('Berth is not available right now').waitFor(),
  },
  {
    name: 'folders-no-match',
    alike: true,
    path: '/data?q=nothing',
    world: { folders: variedFolders() },
    act: page => page.getByText('No folder matches').waitFor(),
  },
  {
    name: 'folders-sftp',
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Connect with SFTP').click()
      await button(page, /^Open$/).click()
      await page.getByText('FileZilla site').waitFor()
    },
  },
  {
    name: 'folders-sftp-before',
    alike: true,
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Connect with SFTP').click()
      await button(page, /^Open$/).waitFor()
    },
  },
  {
    name: 'folders-sftp-commands',
    alike: true,
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Connect with SFTP').click()
      await button(page, /^Open$/).click()
      await page.getByRole('tab', { name: 'Commands' }).click()
      await page.getByText('Mount as a file system, with sshfs').waitFor()
    },
  },
  {
    name: 'folders-trash',
    path: '/data?tab=trash',
    world: { folders: variedFolders() },
    act: page => page.getByText('old-runs').waitFor(),
  },
  {
    name: 'folders-create',
    path: '/data',
    world: { ...LIMITED, role: 'domain_admin', storageHosts: [LOCAL, ARCHIVE], folders: [aFolder(1)] },
    async act(page) {
      await page.getByText('folder-1').waitFor()
      await button(page, 'New folder').click()
      await page.getByLabel('Name', { exact: true }).fill('Folder-1')
      await page.getByText('There is a folder “folder-1” already').waitFor()
      await page.getByRole('combobox', { name: 'Belongs to' }).press('ArrowDown')
      await page.getByRole('option', { name: 'Project vision' }).click()
      await page.getByText('Members of the project may').waitFor()
      if ((await page.getByText('No such resource').count()) > 0) throw new Error('The projects could not be loaded.')
    },
  },
  {
    name: 'folders-limits',
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Change experiments').click()
      await page.getByLabel('Most files').fill('many')
      await page.getByText('Enter a whole number').waitFor()
    },
  },
  {
    name: 'folders-move-to-trash',
    alike: true,
    path: '/data',
    world: { folders: variedFolders(), sessions: [USING] },
    async act(page) {
      await page.getByText('In use: train-resnet-50').waitFor()
      await button(page, 'Move experiments to trash').click()
      await page.getByRole('link', { name: 'train-resnet-50' }).waitFor()
    },
  },
  {
    name: 'folders-delete',
    alike: true,
    path: '/data?tab=trash',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Delete old-runs permanently').click()
      await page.getByLabel('Type the name of the folder').fill('old-run')
      await button(page, /^Delete permanently$/).click()
      await page.getByText('Does not match').waitFor()
    },
  },
  {
    name: 'launch-folders',
    path: '/sessions',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'New session').click()
      await openSection(page, 'Folders')
      await page.getByText('Mount folders whose names begin with a dot: .local').waitFor()
      await page.getByRole('combobox', { name: 'Choose folders to mount' }).press('ArrowDown')
      await page.getByRole('option', { name: /^experiments/ }).click()
      await page.getByRole('option', { name: /^models/ }).click()
      await page.keyboard.press('Escape')
      await page.getByLabel('Where the session sees models').fill('experiments/models')
      await page.getByText('Same path as “models”').first().waitFor()
      await page.locator('#launch-section-folders').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'folders-share',
    path: '/data',
    world: { folders: variedFolders(), shares: SHARES },
    async act(page) {
      await button(page, 'Share papers').click()
      await page.getByText('Jonas Lindqvist').waitFor()
    },
  },
  {
    name: 'folders-share-fault',
    alike: true,
    path: '/data',
    world: { folders: variedFolders(), shares: SHARES },
    async act(page) {
      await button(page, 'Share papers').click()
      await page.getByText('Jonas Lindqvist').waitFor()
      await button(page, 'Invite').click()
      await page.getByText('Enter an e-mail address').waitFor()
    },
  },
  {
    name: 'folders-clone',
    path: '/data',
    world: { folders: variedFolders(), storageHosts: [LOCAL, { ...ARCHIVE, problem: null }] },
    async act(page) {
      await button(page, 'Clone experiments').click()
      await page.getByLabel('Name of the new folder').waitFor()
    },
  },
  {
    name: 'folders-cloning',
    alike: true,
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Clone experiments').click()
      await button(page, /^Clone$/).click()
      await page.getByText('Copying: 1,284 files').waitFor()
      await button(page, 'Cancel copying to experiments-copy').waitFor()
    },
  },
  {
    name: 'folders-invitations',
    path: '/data?tab=invitations',
    world: { invitations: [INVITATION] },
    act: page => button(page, /^Accept/).waitFor(),
  },
  {
    name: 'folders-no-invitation',
    alike: true,
    path: '/data?tab=invitations',
    act: page => page.getByText('No open invitation').waitFor(),
  },
  {
    name: 'folders-leave',
    alike: true,
    path: '/data',
    world: { folders: variedFolders() },
    async act(page) {
      await button(page, 'Leave genomes').click()
      await page.getByText('You lose access to its files').waitFor()
    },
  },
]
