import type en from '../en/amounts.ts'
import { type Translation } from '../message-types.ts'

export default {
  imageMinimum: '이 이미지의 최솟값은 {amount}입니다',
  exampleBytes: '4 GiB, 512 MiB',
  enterAmount: '값을 입력하세요. 예: {example}',
  notNegative: '0보다 작을 수 없습니다',
  usePoint: '쉼표 대신 점을 사용하세요: {text}',
  useDigits: '숫자와 점을 사용하세요. 예: {example}',
  onlyWhole: '정수만 입력할 수 있습니다',
  decimals: '소수점 아래 최대 {count}자리',
  notMemory: '메모리 크기가 아닙니다. 예: {example}',
  notNumber: '숫자가 아닙니다. 예: {example}',
} satisfies Translation<typeof en>
