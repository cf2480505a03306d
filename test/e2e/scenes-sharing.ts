import { type SessionShare } from '#manager/contract'
import { ago, aSession, OTHER } from './console-world.ts'
import { type Scene } from './scene.ts'

const GROUP = { id: '01990000-0000-7000-8000-0000000000aa', name: 'physics' } as NonNullable<
  ReturnType<typeof aSession>['group']
>
const MINE = aSession(1, {
  name: 'wave-analysis',
  group: GROUP,
  sharedWith: 1,
  tags: ['thesis', 'run/3'],
  note: 'See the second curve.\nThe first one has the wrong unit.',
})
const THEIRS = aSession(2, { ...OTHER, name: 'tide-model', group: GROUP, sharedAs: 'view', sharedWith: null })
const MEMBER: SessionShare = {
  userId: OTHER.ownerId,
  email: 'a.person.with.a.long.name@an-institute.example.org',
  name: 'Jonas Lindqvist',
  permission: 'use',
  sharedAt: ago(60),
}
const LOGS = {
  [MINE.id]: '2026-11-20T12:00:01.000Z epoch 1, loss 0.71\n2026-11-20T12:00:03.000Z epoch 2, loss 0.55\n',
  [THEIRS.id]: '2026-11-20T12:00:02.000Z reading tides\n2026-11-20T12:00:04.000Z wrote 812 rows\n',
}
const world = { sessions: [MINE, THEIRS], members: [MEMBER], logs: LOGS }

/** Shared sessions, tags and notes, and logs of several sessions. */
export const SHARING_SCENES: readonly Scene[] = [
  {
    name: 'sessions-shared',
    alike: true,
    path: '/sessions',
    world,
    act: page => page.getByText('tide-model').waitFor(),
  },
  {
    name: 'session-row-menu',
    path: '/sessions',
    world,
    async act(page) {
      await page.getByRole('button', { name: 'More for wave-analysis' }).click()
      await page.getByText('Copy the ID').waitFor()
    },
  },
  {
    name: 'session-shared-with-me',
    path: `/sessions/${THEIRS.id}`,
    world,
    act: page => page.getByText('shares this session with you').waitFor(),
  },
  {
    name: 'session-labels-edit',
    path: `/sessions/${MINE.id}?tab=details`,
    world,
    async act(page) {
      await page.getByRole('button', { name: 'Edit tags and note' }).click()
      await page.getByLabel('Note', { exact: true }).waitFor()
    },
  },
  {
    name: 'session-share-dialog',
    path: `/sessions/${MINE.id}`,
    world,
    async act(page) {
      await page.getByRole('button', { name: 'Share…' }).click()
      await page.getByText('Jonas Lindqvist').waitFor()
    },
  },
  {
    name: 'logs-columns',
    path: `/logs?ids=${MINE.id},${THEIRS.id}&q=loss`,
    world,
    act: page => page.getByText('epoch 1').waitFor(),
  },
  {
    name: 'logs-by-time',
    alike: true,
    path: `/logs?ids=${MINE.id},${THEIRS.id}&view=time`,
    world,
    act: page => page.getByText('wrote 812 rows').waitFor(),
  },
]
