"""What every decoder promises: each message becomes rows, or one dead letter as a whole; never both."""

from kafka2hive.plugins import Decoded as Decoded
from kafka2hive.plugins import Decoder as Decoder
from kafka2hive.plugins import Reason as Reason
