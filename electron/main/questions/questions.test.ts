import { beforeEach, expect, test } from 'vitest'
import { electron, StubWindow, stub } from '../../../test/fixtures/electron-stub.ts'
import { createQuestions } from './questions.ts'

const questions = createQuestions(electron)
const QUESTION = { message: 'Really?' }
beforeEach(() => {
  StubWindow.all.length = 0
  StubWindow.focused = null
  stub.parents.length = 0
})

function someWindow(isVisible: boolean): StubWindow {
  const window = new StubWindow({})
  window.visible = isVisible
  return window
}

test('a question is in front of the focused window, else of one that is on the screen', async () => {
  const [hidden, console, terminal] = [someWindow(false), someWindow(true), someWindow(true)]
  StubWindow.focused = terminal
  await questions.ask(QUESTION)
  StubWindow.focused = null
  await questions.ask(QUESTION)
  console.destroy()
  terminal.destroy()
  await questions.ask(QUESTION)
  expect(stub.parents).toEqual([terminal, console, hidden])
  // A question of a hidden window would stay unseen.
  expect(hidden.visible).toBe(true)
})

test('before the first window a question stands alone', async () => {
  await questions.ask(QUESTION)
  expect(stub.parents).toEqual([undefined])
})

test('the newest open question can be brought to the front, until it is answered', async () => {
  const window = someWindow(true)
  const answered = questions.ask(QUESTION)
  window.hide()
  questions.raise()
  expect([window.visible, window.focuses]).toEqual([true, 2])
  await answered
  questions.raise()
  expect(window.focuses).toBe(2)
})
