import { defineWords } from '../i18n.ts'

const en = {
  imageMinimum: 'The minimum of this image is {amount}',
  exampleBytes: '4 GiB or 512 MiB',
  enterAmount: 'Enter an amount such as {example}',
  notNegative: 'Cannot be less than 0',
  usePoint: 'Use a point, not a comma: {text}',
  useDigits: 'Use digits and a point, such as {example}',
  onlyWhole: 'Only whole numbers',
  decimals: 'At most {count} decimals',
  notMemory: 'Not an amount of memory: write {example}',
  notNumber: 'Not a number: write digits, such as {example}',
} as const

export default en
export const t = defineWords('amounts', en)
