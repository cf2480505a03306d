import { glob, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { parse, type SFCDescriptor } from 'vue/compiler-sfc'

/**
 * Dialogs that destroy something use `ConfirmDestroy`: its button waits for the shown data, and acts only on it. A red button in another
 * dialog is an exception with a reason.
 */
const RED_ELSEWHERE: Readonly<Record<string, string>> = {
  'ConfirmDialog.vue': 'the frame of ConfirmDestroy',
  'FormDialog.vue': 'the frame of ProofDialog',
  'ProofDialog.vue': 'asks for the password; its one thing is in the title',
  'ConflictDialog.vue': 'answers a question about one file that is named',
  'ChangedDialog.vue': 'answers a question about the open file',
  'LeaveDialog.vue': 'gives up what was typed on this page',
  'RestartFoldersDialog.vue': 'ends the one session of its title, to start it again',
  'UnfinishedUploads.vue': 'a button in each row of the list, about that row',
  'SshDialog.vue': 'closes a port, which opens again with one click',
  'ConnectSftpDialog.vue': 'closes a port, which opens again with one click',
}
/** Questions whose answers destroy nothing. */
const HARMLESS: readonly string[] = [
  'RestartDialog.vue',
  'QueuePage.vue',
  'MaintenancePage.vue',
  'SshKeySection.vue',
  'ConfirmDestroy.vue',
  'HiddenLinkDialog.vue',
]

const SOURCES: { name: string; sfc: SFCDescriptor }[] = []
for await (const file of glob('renderer/**/*.vue')) {
  SOURCES.push({ name: basename(file), sfc: parse(await readFile(file, 'utf8')).descriptor })
}

type Root = NonNullable<NonNullable<SFCDescriptor['template']>['ast']>
type Child = Root['children'][number]
type ElementNode = Extract<Child, { tag: string }>

function elementsOf(sfc: SFCDescriptor): ElementNode[] {
  const found: ElementNode[] = []
  const walk = (nodes: readonly Child[]) => {
    for (const node of nodes) {
      if (!('tag' in node)) continue
      found.push(node)
      walk(node.children)
    }
  }
  walk(sfc.template?.ast?.children ?? [])
  return found
}
/** Value of an attribute, or the expression bound to it; undefined without it. */
function propOf(element: ElementNode, name: string): string | undefined {
  for (const prop of element.props) {
    if (!('arg' in prop)) {
      if (prop.name === name) return ('value' in prop && prop.value?.content) || ''
    } else if (prop.name === 'bind' && prop.arg?.loc.source === name) return prop.exp?.loc.source ?? ''
  }
  return undefined
}
const DIALOGS = ['ModalDialog', 'VDialog', 'FormDialog', 'ConfirmDialog', 'ProofDialog']
const namesOf = (wanted: (elements: ElementNode[], name: string) => boolean) =>
  SOURCES.filter(({ sfc, name }) => wanted(elementsOf(sfc), name)).map(({ name }) => name)

test('only ConfirmDestroy has a red button, and a few dialogs with a reason', () => {
  const red = namesOf(elements =>
    elements.some(({ tag }) => DIALOGS.includes(tag))
      ? elements.some(
          one =>
            (DIALOGS.includes(one.tag) && propOf(one, 'danger') !== undefined) ||
            (one.tag === 'VBtn' && isInDialog(one, elements) && (propOf(one, 'color') ?? '').includes('error')),
        )
      : false,
  )
  expect(red.filter(name => name !== 'ConfirmDestroy.vue').toSorted()).toEqual(
    [...Object.keys(RED_ELSEWHERE), ...DANGER_OF_PROOF].toSorted(),
  )
})
/** Pages whose `ProofDialog` removes a way to sign in. */
const DANGER_OF_PROOF = ['IdentitiesSection.vue', 'SecondFactorSection.vue']

function isInDialog(button: ElementNode, elements: readonly ElementNode[]): boolean {
  const { offset } = button.loc.start
  return elements.some(({ tag, loc }) => DIALOGS.includes(tag) && loc.start.offset < offset && offset < loc.end.offset)
}

test('a question by ConfirmDialog is one that destroys nothing', () => {
  expect(namesOf(elements => elements.some(({ tag }) => tag === 'ConfirmDialog')).toSorted()).toEqual(
    [...HARMLESS].toSorted(),
  )
})

test('a dialog whose name says that it destroys is a ConfirmDestroy', () => {
  const named = SOURCES.filter(({ name }) =>
    /^(Delete|CleanUp|Terminate|Trash|Leave.+|Take|Decline|Deactivate|Purge|Forget|Remove)\w*Dialog\.vue$/.test(name),
  )
  expect(named.length).toBeGreaterThan(5)
  for (const { name, sfc } of named) {
    if (name in RED_ELSEWHERE) continue
    expect(
      elementsOf(sfc).map(({ tag }) => tag),
      name,
    ).toContain('ConfirmDestroy')
  }
})

test('each ConfirmDestroy says what it shows, and its deed is about that', () => {
  const all = SOURCES.flatMap(({ name, sfc }) =>
    elementsOf(sfc)
      .filter(({ tag }) => tag === 'ConfirmDestroy')
      .map(one => ({ name, shown: propOf(one, 'shown'), run: propOf(one, 'run') })),
  )
  expect(all.length).toBeGreaterThan(20)
  for (const { name, shown, run } of all) {
    expect(shown, name).toBeTruthy()
    expect(shown, name).not.toBe('true')
    // A closure without a parameter would act on whatever is shown at that time.
    expect(run, name).not.toMatch(/^\s*(async\s*)?\(\s*\)\s*=>/)
  }
})
