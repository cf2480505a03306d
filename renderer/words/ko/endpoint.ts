import type en from '../en/endpoint.ts'
import { type Translation } from '../message-types.ts'

export default {
  berthOn: 'Berth 위치: <b>{place}</b>',
  thisComputer: '이 컴퓨터',
  change: '변경…',
  whichBerth: '어느 Berth에 연결할까요?',
  connect: '연결',
  onThisComputer: '이 컴퓨터의 Berth',
  onAnotherComputer: '다른 컴퓨터의 Berth',
  address: '주소',
  enterAddress: '주소를 입력하세요. 예: berth.example.org',
} satisfies Translation<typeof en>
