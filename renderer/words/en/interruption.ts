import { defineWords } from '../i18n.ts'

const en = {
  in: 'Interrupted in {time}',
  now: 'Is interrupted now',
  why: 'It makes room for a session of higher priority. Its files and its place in the queue are kept, and it continues later. Save your work.',
} as const

export default en
export const t = defineWords('interruption', en)
