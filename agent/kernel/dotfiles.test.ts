import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placeDotfiles } from './dotfiles.ts'

const user = process.getuid?.() === 0 ? { uid: 1234, gid: 1235 } : { uid: process.getuid?.() ?? 0, gid: 0 }
const options = { mounts: [], user, continues: false }

let root: string
let home: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'berth-test-dotfiles-'))
  home = join(root, 'home')
  await mkdir(home)
})
afterEach(() => rm(root, { recursive: true, force: true }))

const file = (path: string, content = `# ${path}\n`, mode = '644') => ({ path, content, mode })

test('dotfiles get their content, mode and owner, and so do the directories above them', async () => {
  const notes = await placeDotfiles(
    home,
    [file('.bashrc', 'alias ll="ls -l"\n'), file('.config/git/config', '[user]\n', '600'), file('.bin', '#!', '755')],
    options,
  )
  expect(notes).toEqual([])
  expect(await readFile(join(home, '.bashrc'), 'utf8')).toBe('alias ll="ls -l"\n')
  const modes = await Promise.all(
    ['.bashrc', '.config', '.config/git/config', '.bin'].map(async path => {
      const { uid, mode, nlink } = await stat(join(home, path))
      return [uid, (mode & 0o777).toString(8), path === '.config' ? 1 : nlink]
    }),
  )
  expect(modes).toEqual([
    [user.uid, '644', 1],
    [user.uid, '755', 1],
    [user.uid, '600', 1],
    [user.uid, '755', 1],
  ])
  expect((await readdir(home)).toSorted()).toEqual(['.bashrc', '.bin', '.config'])
})

test('a dotfile in a mounted folder is left out and named in the log of the session', async () => {
  const notes = await placeDotfiles(home, [file('.ssh/config'), file('.sshrc'), file('.local')], {
    ...options,
    mounts: ['.ssh', '.local'],
  })
  expect(notes).toEqual([
    'Your dotfile .ssh/config is not in this session: a folder is mounted at ~/.ssh.',
    'Your dotfile .local is not in this session: a folder is mounted at ~/.local.',
  ])
  expect(await readdir(home)).toEqual(['.sshrc'])
})

test('no link is followed, neither on the path nor at the place itself', async () => {
  const outside = join(root, 'outside')
  await mkdir(outside)
  await writeFile(join(root, 'passwd'), 'root')
  await symlink(outside, join(home, '.config'))
  await symlink(join(root, 'passwd'), join(home, '.bashrc'))
  await symlink(join(root, 'missing'), join(home, '.vimrc'))
  const notes = await placeDotfiles(home, [file('.config/x'), file('.bashrc'), file('.vimrc')], options)
  expect(notes).toHaveLength(3)
  expect(await readdir(outside)).toEqual([])
  expect(await readFile(join(root, 'passwd'), 'utf8')).toBe('root')
  expect((await readdir(root)).toSorted()).toEqual(['home', 'outside', 'passwd'])
  expect((await readdir(home)).toSorted()).toEqual(['.bashrc', '.config', '.vimrc'])
})

test('a session that continues with its files keeps its dotfiles, without a note', async () => {
  await writeFile(join(home, '.bashrc'), 'mine')
  const notes = await placeDotfiles(home, [file('.bashrc'), file('.zshrc')], { ...options, continues: true })
  expect(notes).toEqual([])
  expect(await readFile(join(home, '.bashrc'), 'utf8')).toBe('mine')
  expect(await readFile(join(home, '.zshrc'), 'utf8')).toBe('# .zshrc\n')
})
